/**
 * Characters that a reader does not see and a model reads all the same: controls, zero-width characters,
 * marks that turn the direction of writing, tags, and the selectors that can carry hidden bytes. A joiner
 * or selector inside an emoji, and those that scripts such as Arabic, Persian or Devanagari need between
 * their letters, are part of what is seen.
 */
const INVISIBLE = new RegExp(
  [
    String.raw`[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c]`,
    String.raw`[\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164]`,
    String.raw`[\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}]`,
    String.raw`[\ufe00-\ufe0d]|[\u{e0000}-\u{e007f}]|[\u{e0100}-\u{e01ef}]`,
    String.raw`(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f\p{M}\p{Lo}])[\u200c\u200d]`,
    String.raw`[\u200c\u200d](?![\p{Extended_Pictographic}\p{Lo}])`,
    String.raw`(?<!\p{Emoji})[\ufe0e\ufe0f]`,
  ].join('|'),
  'gu',
);

/** A flag of a region is spelt with tags after a black flag: those are seen as one emoji. */
const REGION_FLAG = /\u{1f3f4}[\u{e0061}-\u{e007a}\u{e0030}-\u{e0039}]{2,6}\u{e007f}/gu;

/** Shows invisible characters as their code, such as ⟨U+202E⟩; everything else stays as it is. */
export function withVisibleCharacters(text: string): string {
  if (/^[\t\n\r\u0020-\u007e]*$/.test(text)) return text;
  const parts: string[] = [];
  let from = 0;
  for (const flag of text.matchAll(REGION_FLAG)) {
    parts.push(shown(text.slice(from, flag.index)), flag[0]);
    from = flag.index + flag[0].length;
  }
  parts.push(shown(text.slice(from)));
  return parts.join('');
}

function shown(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${code}⟩`;
  });
}
