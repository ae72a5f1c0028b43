/** What to tell an HTTP client about a limit. */
export function headers(limit) {
  const wait = limit.wait();
  const out = {
    'RateLimit-Limit': String(limit.capacity ?? limit.limit),
    'RateLimit-Remaining': String(limit.remaining()),
  };
  if (wait > 0) out['Retry-After'] = String(Math.ceil(wait / 1000));
  return out;
}
