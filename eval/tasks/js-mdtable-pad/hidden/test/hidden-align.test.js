'use strict';
const test = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { format } = require('..');
const { pad, rule } = require('../src/align');

test('pad', () => {
  assert.strictEqual(pad('ab', 5, 'right'), '   ab');
  assert.strictEqual(pad('ab', 5, 'center'), ' ab  ');
  assert.strictEqual(pad('ab', 5, 'left'), 'ab   ');
  assert.strictEqual(pad('ab', 5), 'ab   ');
  assert.strictEqual(pad('\u6f22', 4, 'right'), '  \u6f22');
  assert.strictEqual(pad('abcdef', 3, 'right'), 'abcdef');
  assert.strictEqual(pad('abcdef', 3), 'abcdef');
});

test('rule', () => {
  assert.deepStrictEqual(['left', 'right', 'center', undefined].map((align) => rule(4, align)), [':---', '---:', ':--:', '----']);
});

test('format uses them', () => {
  const text = fs.readFileSync(path.join(__dirname, '..', 'src', 'format.js'), 'utf8');
  assert.doesNotMatch(text, /right|center|left/);
  assert.match(text, /require\(['"]\.\/align(\.js)?['"]\)/);
  assert.strictEqual(format([['a', 'b', 'c', 'd'], ['1', 2, '\u6f22', 4]], { align: ['center', 'right', 'left'] }),
    '|  a  |   b | c   | d   |\n| :-: | --: | :-- | --- |\n|  1  |   2 | \u6f22  | 4   |\n');
});
