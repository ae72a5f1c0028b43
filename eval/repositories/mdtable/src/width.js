'use strict';

// How many columns of a terminal a text takes: wide characters take two, marks that combine none.
function width(text) {
  let sum = 0;
  for (const char of text) {
    const code = char.codePointAt(0);
    if (/\p{Mark}/u.test(char)) continue;
    const wide =
      (code >= 0x1100 && code <= 0x115f) ||
      (code >= 0x2e80 && code <= 0xa4cf) ||
      (code >= 0xac00 && code <= 0xd7a3) ||
      (code >= 0xff00 && code <= 0xff60) ||
      (code >= 0x1f300 && code <= 0x1faff);
    sum += wide ? 2 : 1;
  }
  return sum;
}

module.exports = { width };
