import { type Endpoint, SECRET_PARAMETER } from './registry.js';

const known = new WeakMap<Endpoint, string>();

/** The same for every key: where an endpoint is and how it is spoken to, without user info and without parameters that hold a secret. */
export function endpointAddress(endpoint: Endpoint): string {
  const found = known.get(endpoint);
  if (found !== undefined) return found;
  const kept = [...new URLSearchParams(endpoint.query)].filter(
    ([name]) => !SECRET_PARAMETER.test(name),
  );
  const query = new URLSearchParams(kept);
  query.sort();
  const spoken = endpoint.dialect === undefined ? '' : `#${endpoint.dialect}`;
  const address = `${endpoint.origin}${endpoint.path}?${query}${spoken}`;
  known.set(endpoint, address);
  return address;
}
