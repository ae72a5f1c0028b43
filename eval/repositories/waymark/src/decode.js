/** The text behind `%20`s; what can't be decoded stays as it is. */
export function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
