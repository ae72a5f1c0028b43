'use strict';

function words(text) {
  return text.split(/\s+/).filter(Boolean);
}

// How often each word stands in a text; small and capital letters are the same.
function frequency(text) {
  const counts = new Map();
  for (const word of words(text.toLowerCase())) {
    counts.set(word, (counts.get(word) || 0) + 1);
  }
  return counts;
}

module.exports = { words, frequency };
