'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { capitalize, camel } = require('..');

test('capitalize', () => {
  assert.strictEqual(capitalize('hello world'), 'Hello world');
  assert.strictEqual(capitalize('iPhone'), 'IPhone');
  assert.strictEqual(capitalize('x'), 'X');
  assert.strictEqual(capitalize(''), '');
});

test('the others are still there', () => {
  assert.strictEqual(camel('user-id'), 'userId');
});
