'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { truncate, collapse } = require('..');

test('truncate', () => {
  assert.strictEqual(truncate('short', 10), 'short');
  assert.strictEqual(truncate('hello world', 8), 'hello w\u2026');
  assert.strictEqual(truncate('hello world', 0), '');
});

test('collapse', () => {
  assert.strictEqual(collapse('  a \n b  '), 'a b');
});
