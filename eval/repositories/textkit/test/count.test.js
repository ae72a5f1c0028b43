'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { words, frequency } = require('..');

test('words', () => {
  assert.deepStrictEqual(words(' one two\nthree '), ['one', 'two', 'three']);
});

test('frequency', () => {
  assert.deepStrictEqual([...frequency('a b A')], [['a', 2], ['b', 1]]);
});
