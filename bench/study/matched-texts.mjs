// Pairs in which the bad text is about as long as the good one: a judge that only counts words fails here.
const antiSlop = [
  [
    'The ferry takes 40 cars, and on Fridays the queue starts at four. Book the 17:20 or drive round by the bridge, which is 31 km longer but has no ticket. Dogs must stay on the upper deck, which is cold in March.',
    'More than a crossing, our ferry is a voyage of the heart. Every journey is thoughtfully curated to delight, inspire and connect, turning ordinary travel into moments that matter and memories that will truly last a lifetime for everyone on board.',
  ],
  [
    'We let two agencies tag 600 tickets each. They agreed on 71 percent. Most of the rest were refunds that one of them called complaints. The guide now has an example for that, but we have not measured again, so treat the March figures as rough.',
    'By harnessing the combined power of human insight and intelligent tagging, we unlock a deeper understanding of every ticket. The result is a seamless feedback loop that empowers support teams to act faster, think bigger and consistently exceed the expectations of every single customer.',
  ],
  [
    'The wool coat pills under the arms after a month. The lining is sewn in by hand and held. It is too warm above ten degrees and too thin below minus five. For 280 euros I would buy it again, one size larger.',
    'Timeless. Effortless. Unmistakably you. This coat is a celebration of craftsmanship that elevates every outfit and every moment. Designed for those who refuse to compromise, it brings together heritage and innovation in perfect, enduring harmony, season after season, for many years.',
  ],
  [
    'The choir lost nine of 34 singers when rehearsals moved to Monday. Attendance is steadier since, and we sing from two books instead of five. Tenors are still missing: three is not enough for the Bruckner, so it is off the programme.',
    'Our choir is not just about singing, it is about belonging. Together we create a vibrant tapestry of voices, where passion meets purpose and every rehearsal becomes a powerful reminder that music has the unique ability to transform lives and communities.',
  ],
];

const helpfulness = [
  [
    'How do I get candle wax out of a tablecloth?',
    'Put it in the freezer for an hour and break off what you can. Lay kitchen paper above and below the rest and iron it at medium heat, changing the paper until no more grease shows. Coloured wax leaves dye: dab that with spirit.',
    'Candles create a lovely atmosphere at dinner, and a little wax on the cloth is something that every host has seen. There are many opinions on how to deal with it, and some people have their own family tricks. With care you will surely find what works.',
  ],
  [
    'My bicycle chain jumps when I pedal hard. Why?',
    'The chain or the sprockets are worn, most often. Measure 12 links: at 30.5 cm they should end, at 30.7 cm the chain is done. If a new chain still jumps on one sprocket, replace the cassette too. Rule out a loose cable first.',
    'A bicycle chain passes the force of your legs to the rear wheel. It was invented in the nineteenth century and has hardly changed since. Chains consist of plates, pins and rollers. Many cyclists find that a well kept bicycle is more fun to ride.',
  ],
  [
    'Which file do I edit so that a cron job runs as another user?',
    'Put it in /etc/cron.d/name. Those files have a user column after the five times: 0 3 * * * backup /usr/local/bin/dump. The file must belong to root and end with a newline, or it is ignored. crontab -u backup -e works as well.',
    'Cron is one of the oldest tools in Unix and is found on nearly every server. Running jobs as the right user is important for security, and administrators should always think about permissions. The documentation of your distribution surely has more about this topic.',
  ],
  [
    'Can I carry a power bank of 26,800 mAh on a plane?',
    'Usually yes, in the cabin only. What counts is watt-hours: 26,800 mAh at 3.7 V is 99 Wh, just below the 100 Wh that airlines allow without asking. Have the label readable, tape the contacts, and never put it in checked luggage.',
    'Power banks are very practical on journeys, since nobody likes an empty phone. Airlines take safety seriously and have rules about many things in luggage. Rules can differ, so it is always a good idea to inform yourself in good time before you travel.',
  ],
];

const commitMessage = [
  [
    'Stop counting a paused timer\n\nA laptop that slept added eight hours to a task. The clock now stops at the last key press; a meeting away from the desk is lost too.',
    'Improve timer handling\n\nThis makes various improvements to the timer and makes it more robust and user friendly. Some related code was cleaned up and several small problems were resolved as well.',
  ],
  [
    'Sort tags by code point, not by locale\n\nTwo machines with different locales wrote the index in different orders, so each build looked changed. Umlauts now come after z.',
    'Refactor the tag sorting logic\n\nThe sorting logic for tags was refactored to be cleaner and easier to maintain. Updated the function, its helpers and the other files that make use of them.',
  ],
  [
    'Refuse a zip with paths outside its folder\n\nAn archive with ../ in a name wrote over the settings of another tenant. Links inside archives are refused too, which two customers use.',
    'Enhance archive processing\n\nEnhances the processing of archives with better checks and improved security in many places. The code follows best practices now and is a solid base for the future.',
  ],
  [
    'Send the digest at 7 in the reader’s zone\n\nReaders in Lima got it at 1 in the morning and switched it off. Those without a zone still get it at 7 UTC.',
    'Various digest updates\n\nUpdated digest.py, users.py and mailer.py. Changed the way in which times are handled and also fixed some things that were noticed along the way while testing.',
  ],
];

const build = (rubric, list, read) =>
  list.flatMap((entry, number) => {
    const [good, bad, context] = read(entry);
    const pair = `${rubric} matched ${number + 1}`;
    return [
      { rubric, pair, label: 'good', content: good, context, set: 'matched' },
      { rubric, pair, label: 'bad', content: bad, context, set: 'matched' },
    ];
  });

export const MATCHED_TEXTS = [
  ...build('anti-slop', antiSlop, (both) => both),
  ...build('helpfulness', helpfulness, ([question, good, bad]) => [good, bad, { question }]),
  ...build('commit-message', commitMessage, (both) => both),
];
