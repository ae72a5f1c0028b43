import { decode } from './decode.js';

/** { a: '1', b: ['2', '3'] } for `a=1&b=2&b=3`. */
export function parseQuery(text) {
  const out = {};
  for (const pair of text.replace(/^\?/, '').split('&')) {
    if (!pair) continue;
    const at = pair.indexOf('=');
    const rawKey = at < 0 ? pair : pair.slice(0, at);
    const rawValue = at < 0 ? '' : pair.slice(at + 1);
    const key = decode(rawKey.replace(/\+/g, ' '));
    const value = decode(rawValue.replace(/\+/g, ' '));
    if (!(key in out)) out[key] = value;
    else if (Array.isArray(out[key])) out[key].push(value);
    else out[key] = [out[key], value];
  }
  return out;
}

/** `a=1&b=2&b=3`; keys whose value is null or undefined are left out. */
export function buildQuery(values) {
  const pairs = [];
  for (const [key, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === null || one === undefined) continue;
      pairs.push(`${encodeURIComponent(key)}=${encodeURIComponent(one)}`);
    }
  }
  return pairs.join('&');
}
