// The texts of a soak. Each carries its number, and the number decides the only right score.
export const RUBRIC = {
  name: 'soak',
  description: 'One scale.',
  systemPrompt: 'You judge texts.',
  dimensions: [{ id: 'quality', description: 'How good the text is.' }],
};

export const textOf = (number) =>
  `Item ${number}: the retry queue drops a job after 4 attempts; the import lost no row.`;

/** From 0 to 1 in steps of a thousandth, far from that of the neighbours. */
export const scoreOf = (number) => ((number * 7919) % 1001) / 1000;
