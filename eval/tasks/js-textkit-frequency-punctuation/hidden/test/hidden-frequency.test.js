'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { words, frequency } = require('..');

const counted = (text) => Object.fromEntries(frequency(text));

test('punctuation around words', () => {
  assert.deepStrictEqual(counted('Yes. No, yes!'), { yes: 2, no: 1 });
  assert.deepStrictEqual(counted('(one) "one" [two]?'), { one: 2, two: 1 });
});

test('inside a word it stays', () => {
  assert.deepStrictEqual(counted("don't, well-known"), { "don't": 1, 'well-known': 1 });
});

test('punctuation alone is no word', () => {
  assert.deepStrictEqual(counted('a - b ...'), { a: 1, b: 1 });
});

test('words are untouched', () => {
  assert.deepStrictEqual(words('Yes. No!'), ['Yes.', 'No!']);
});
