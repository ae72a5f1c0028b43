'use strict';
const test = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

test('pieces has its own module', () => {
  const { pieces } = require('../src/pieces');
  assert.deepStrictEqual(pieces('serverName of-it'), ['server', 'name', 'of', 'it']);
});

test('case.js takes it from there', () => {
  const text = fs.readFileSync(path.join(__dirname, '..', 'src', 'case.js'), 'utf8');
  assert.match(text, /require\(['"]\.\/pieces(\.js)?['"]\)/);
  assert.doesNotMatch(text, /function pieces|pieces\s*=\s*\(?\w*\)?\s*=>|toLowerCase/);
});

test('the interface is what it was', () => {
  assert.deepStrictEqual(Object.keys(require('..')).sort(), ['camel', 'collapse', 'frequency', 'kebab', 'snake', 'truncate', 'words']);
  assert.strictEqual(require('..').camel('server-name'), 'serverName');
});
