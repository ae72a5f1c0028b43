'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { truncate } = require('..');

test('another mark', () => {
  assert.strictEqual(truncate('hello world', 8, '...'), 'hello...');
  assert.strictEqual(truncate('hello world', 9, '...'), 'hello...');
  assert.strictEqual(truncate('hello world', 10, '...'), 'hello w...');
  assert.strictEqual(truncate('hello world', 6, '~'), 'hello~');
});

test('no mark', () => {
  assert.strictEqual(truncate('hello world', 3, ''), 'hel');
  assert.strictEqual(truncate('hello world', 6, ''), 'hello');
  assert.strictEqual(truncate('hello world', 0, ''), '');
});

test('nothing to cut', () => {
  assert.strictEqual(truncate('hello', 5, '...'), 'hello');
  assert.strictEqual(truncate('hi', 2, '...'), 'hi');
});

test('no room for the mark', () => {
  assert.strictEqual(truncate('hello', 2, '...'), '');
  assert.strictEqual(truncate('hello', 3, '...'), '...');
  assert.strictEqual(truncate('hello', 0, '...'), '');
});

test('as before', () => {
  assert.strictEqual(truncate('hello world', 8), 'hello w\u2026');
  assert.strictEqual(truncate('hello world', 1), '\u2026');
  assert.strictEqual(truncate('hello world', 0), '');
});
