const SPECIAL = /[.+?^${}()|[\]\\]/g;

/** A pattern such as `/users/:id` as { regexp, names }. */
export function compile(pattern) {
  if (!pattern.startsWith('/')) throw new TypeError(`a pattern begins with a slash: ${pattern}`);
  const names = [];
  const parts = pattern.split('/').slice(1).map((part) => {
    if (part.startsWith(':')) {
      names.push(part.slice(1));
      return '([^/]+)';
    }
    if (part.startsWith('*')) {
      names.push(part.slice(1) || 'rest');
      return '(.*)';
    }
    return part.replace(SPECIAL, '\\$&');
  });
  return { regexp: new RegExp(`^/${parts.join('/')}$`), names };
}
