/** Shortest secret that is looked for; anything shorter would blank out ordinary words. */
const MIN_SECRET_LENGTH = 6;

/** Makes a function that hides every spelling of the given secrets in a text. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const spellings = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < MIN_SECRET_LENGTH) continue;
    spellings.add(secret);
    spellings.add(encodeURIComponent(secret));
    spellings.add(JSON.stringify(secret).slice(1, -1));
    spellings.add(Buffer.from(secret).toString('base64'));
  }
  const ordered = [...spellings].sort((a, b) => b.length - a.length);
  return (text) => ordered.reduce((cleaned, secret) => cleaned.replaceAll(secret, '***'), text);
}

/** A URL fit for messages: no user info, no values of query parameters, no fragment. */
export function displayUrl(value: string | URL): string {
  const url = new URL(value);
  const query = [...url.searchParams.keys()].map((key) => `${encodeURIComponent(key)}=***`);
  return `${url.protocol}//${url.host}${url.pathname}${query.length > 0 ? `?${query.join('&')}` : ''}`;
}
