'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { format, tableLine } = require('../src/format.js');

test('tableLine', () => {
  assert.strictEqual(tableLine(['a', 'b']), '| a | b |');
  assert.strictEqual(tableLine(['---']), '| --- |');
  assert.strictEqual(tableLine(['x', '  ', 'y']), '| x |    | y |');
});

test('format uses it', () => {
  assert.match(format.toString(), /\btableLine\b/);
  assert.ok(!format.toString().includes(".join(' | ')"));
});

test('format returns the same', () => {
  assert.strictEqual(
    format([['name', 'size'], ['bolt', 4], ['nut', 12]], { align: ['left', 'right'] }),
    '| name | size |\n| :--- | ---: |\n| bolt |    4 |\n| nut  |   12 |\n',
  );
  assert.strictEqual(format([['a'], ['b']], { align: ['center'] }), '|  a  |\n| :-: |\n|  b  |\n');
  assert.strictEqual(format([['a|b', 'c'], ['x']]), '| a\\|b | c   |\n| ---- | --- |\n| x    |     |\n');
  assert.strictEqual(format([]), '');
});

test('the package exports what it did', () => {
  assert.deepStrictEqual(Object.keys(require('..')).sort(), ['format', 'fromObjects', 'parse', 'toObjects']);
});
