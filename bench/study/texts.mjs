// Labelled texts of the study: pairs on one topic, one good and one bad, written for it. None of them was used
// to choose or calibrate the checks of the built-in rubrics.
const antiSlop = [
  [
    'Our parser now reads a 2 GB log in 41 s instead of 6 minutes. The cost: it holds an index of 90 MB in memory, so do not run it on the small build agents. Lines over 64 KB are skipped and counted.',
    'Our revolutionary parser redefines what is possible. Experience lightning-fast performance that empowers teams to unlock the full potential of their data and achieve results they never imagined.',
  ],
  [
    'The new grinder takes a 58 mm basket and grinds 18 g in 11 s. It is loud, 78 dB at one metre, and the hopper lid does not seal. We kept it for the shop because the burrs lasted two years in the test unit.',
    'Elevate your coffee journey with a grinder crafted for those who dare to dream. Every cup becomes an unforgettable experience, seamlessly blending passion, innovation and timeless design.',
  ],
  [
    'We moved invoices to the new queue on 3 June. Two of 1,140 were sent twice, both to the same customer, because the retry ignored the message id. The fix is in 4.2.1; nobody else was affected.',
    'In today’s fast-paced world, reliable invoicing matters more than ever. Our cutting-edge platform is a game-changer that takes your business to the next level with effortless confidence.',
  ],
  [
    'The allotment got 14 kg of tomatoes from nine plants. The three under the wall rotted from the bottom up in August; I watered them every evening, which was too much. Next year they get a drip line and a roof.',
    'Gardening is more than a hobby, it is a lifestyle. Discover the magic of growing your own food and embrace a vibrant, sustainable tomorrow filled with endless possibilities.',
  ],
  [
    'Version 3 of the map uses vector tiles. It loads in 1.2 s on a mid-range phone, was 3.9 s. Printing is broken in Firefox until the next release; use the PDF export there.',
    'Say goodbye to ordinary maps. Our next-generation solution delivers a truly immersive experience that transforms the way you explore the world, one breathtaking moment at a time.',
  ],
  [
    'The clinic tested the reminder texts for eight weeks: missed appointments fell from 19 % to 13 %. It did not help patients over 80, who mostly have no mobile number on file. We phone them now.',
    'Our holistic reminder ecosystem revolutionizes patient engagement, driving meaningful outcomes and delighting stakeholders at every touchpoint of the care journey.',
  ],
  [
    'I replaced the bathroom fan with a 100 m³/h one. The mirror still fogs after two showers in a row. The duct is 4 m with two bends, which halves the flow; a fan in the outer wall would have been better.',
    'Transform your bathroom into an oasis of pure comfort. Our premium ventilation delivers unparalleled freshness and peace of mind, because you deserve nothing but the best.',
  ],
  [
    'The course has six evenings and at most eight people. You need to have written a loop before, in any language. We do not cover web pages. Four of last year’s seven finished the exercise project.',
    'Join a transformative learning adventure and become the coder you were meant to be! Our world-class mentors will ignite your passion and supercharge your career like never before.',
  ],
];

const helpfulness = [
  [
    'How do I undo my last git commit but keep the changes?',
    'Run git reset --soft HEAD~1. The commit is gone and its changes are staged. If you have pushed it already, use git revert instead, or others will still have it.',
    'Git is a very powerful version control system with many useful commands. You should read its documentation, which explains commits in detail, and be careful with your changes.',
  ],
  [
    'My sourdough does not rise. What can I check?',
    'Drop a spoon of starter into water: if it sinks, it is not ready, so feed it twice a day in a warm place until it doubles in 4 to 6 hours. If it floats, let the dough rise longer or at 25 °C.',
    'Bread baking is an art that people have loved for thousands of years. Every baker has a story about a loaf that went wrong, and that is part of the fun.',
  ],
  [
    'Which train ticket is cheaper for two people from Hamburg to Kiel and back on the same day?',
    'Compare two: the Schleswig-Holstein day ticket covers both of you on regional trains there and back, and single fares need four tickets. For two people the day ticket is nearly always cheaper; check its price today in the app.',
    'Trains are a comfortable way to travel in the north. Hamburg and Kiel are both interesting cities with a harbour, and you will certainly enjoy the ride together.',
  ],
  [
    'How can I see which program uses port 8080 on Linux?',
    'Run sudo ss -ltnp "sport = :8080". The last column names the program and its pid. Without sudo you see only your own programs.',
    'Ports are numbers that programs use to talk to each other. There are 65,535 of them. Port 8080 is often used for web servers during development.',
  ],
  [
    'My houseplant has brown leaf tips. What should I do?',
    'Most often it is dry air or salt in the soil. Water it well once until it runs out at the bottom, pour that away, and use rain water for a month. Cut the brown tips off; if new leaves stay green, that was it.',
    'Plants are living things and sometimes they look less than perfect. I am sorry to hear about your plant! I hope that it feels better soon.',
  ],
  [
    'How do I make Excel show leading zeros in article numbers?',
    'Select the column, press Ctrl+1, choose Custom and type 00000 for five digits. The numbers stay numbers. If they have letters too, choose Text before you type them in.',
    'Excel is a spreadsheet program by Microsoft with hundreds of functions. Numbers can be shown in many ways, and there are great tutorials about formatting on the internet.',
  ],
  [
    'What do I say to my landlord about mould in the bedroom?',
    'Write, do not call: where the mould is, since when, with photos, and ask for repair within two weeks. Say that you air twice a day. Keep a copy. If nothing happens, ask a tenants’ association before you reduce the rent.',
    'Mould is unpleasant and nobody likes it. Landlords are people too, and a friendly relationship is important. Communication is the key to everything.',
  ],
  [
    'Can I freeze cooked rice, and how long does it keep?',
    'Yes. Cool it within an hour, freeze it flat in portions, and eat it within three months. Heat it until it steams all through, with a spoon of water, and do not freeze it again.',
    'Rice is one of the most popular foods in the world and comes in many kinds. People in different countries prepare it in very different and delicious ways.',
  ],
];

const commitMessage = [
  [
    'Retry uploads only when the server has not answered\n\nA 409 was retried three times and left three copies. Only connection errors and 503 are safe to send again.',
    'fix stuff',
  ],
  [
    'Read the config once at start\n\nEach request opened the file, which took 4 ms and failed during deploys while it was being replaced.',
    'Updated config.js, server.js and utils.js with various changes and improvements',
  ],
  [
    'Drop support for Python 3.8\n\nIt got its last security fix in October, and the typing workarounds for it hid two real errors.',
    'WIP do not merge yet!!! asdf',
  ],
  [
    'Escape file names in the download header\n\nA quote in a name ended the header early, so browsers saved the file as "download".',
    'Changed some code in the download function because it did not work properly',
  ],
  [
    'Keep the cursor where it is when the list reloads\n\nPeople lost their place every 30 seconds. The row is found again by id, not by number.',
    'final fix for the list thing (hopefully)',
  ],
  [
    'Count words in CJK texts by character\n\nSplitting at spaces counted a whole page of Japanese as one word, so the limit was never reached.',
    'Added code. Removed code. Refactored code.',
  ],
  [
    'Pin the base image by digest\n\nThe tag moved on Friday and broke the build; with a digest we choose when to update.',
    'Dockerfile',
  ],
  [
    'Time out the health check after two seconds\n\nA hanging database kept the check open, so the load balancer never took the node out.',
    'As discussed in the meeting with Tom on Tuesday, these are the changes that we talked about',
  ],
];

const pairs = (rubric, list, build) =>
  list.flatMap((entry, number) => {
    const [good, bad, context] = build(entry);
    const pair = `${rubric} ${number + 1}`;
    return [
      { rubric, pair, label: 'good', content: good, context },
      { rubric, pair, label: 'bad', content: bad, context },
    ];
  });

export const TEXTS = [
  ...pairs('anti-slop', antiSlop, (both) => both),
  ...pairs('helpfulness', helpfulness, ([question, good, bad]) => [good, bad, { question }]),
  ...pairs('commit-message', commitMessage, (both) => both),
];
