/**
 * Keys that an object repeats, anywhere in a text that is JSON; JSON.parse keeps the last without a word.
 * Reads each character once.
 */
export function repeatedKeys(json: string): string[] {
  const repeated = new Set<string>();
  const objects: (Set<string> | null)[] = [];
  let keyNext = false;
  for (let at = 0; at < json.length; at += 1) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const end = stringEnd(json, at);
        const keys = objects.at(-1);
        if (keyNext && keys != null) {
          const key = JSON.parse(json.slice(at, end + 1)) as string;
          if (keys.has(key)) repeated.add(key);
          keys.add(key);
        }
        keyNext = false;
        at = end;
        break;
      }
      case OPEN:
        objects.push(new Set());
        keyNext = true;
        break;
      case OPEN_LIST:
        objects.push(null);
        keyNext = false;
        break;
      case CLOSE:
      case CLOSE_LIST:
        objects.pop();
        keyNext = false;
        break;
      case COMMA:
        keyNext = objects.at(-1) != null;
        break;
    }
  }
  return [...repeated];
}

function stringEnd(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json.charCodeAt(at) !== QUOTE) {
    at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  }
  return at;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN = 0x7b;
const CLOSE = 0x7d;
