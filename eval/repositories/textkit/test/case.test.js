'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { camel, kebab, snake } = require('..');

test('camel', () => {
  assert.strictEqual(camel('hello big world'), 'helloBigWorld');
  assert.strictEqual(camel('user-id'), 'userId');
});

test('kebab and snake', () => {
  assert.strictEqual(kebab('helloBigWorld'), 'hello-big-world');
  assert.strictEqual(snake('Hello, big world!'), 'hello_big_world');
});

test('nothing stays nothing', () => {
  assert.strictEqual(camel(''), '');
  assert.strictEqual(kebab('  '), '');
});
