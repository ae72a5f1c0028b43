'use strict'
const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const yaml = require('..')
const makeSnippet = require('../lib/snippet')

test('gone', () => {
  assert.strictEqual(require('../lib/common').repeat, undefined)
  for (const name of ['common', 'dumper', 'loader', 'snippet']) {
    const text = fs.readFileSync(path.join(__dirname, '..', 'lib', `${name}.js`), 'utf8')
    assert.doesNotMatch(text, /common\.repeat|function (repeat|padStart)/, name)
  }
})

test('errors near the end of a long text', () => {
  for (let lines = 1; lines < 120; lines += 1) {
    const text = 'a: 1\n'.replace('a', 'k').repeat(1) + Array.from({ length: lines }, (_, i) => `x${i}: ${i}\n`).join('') + 'bad: ]'
    assert.throws(() => yaml.load(text), (error) => error.name === 'YAMLException' && error.message.includes(`${lines + 2} | bad: ]`))
  }
})

test('a line number wider than its place', () => {
  const mark = { buffer: 'a', position: 0, line: 99, column: 0 }
  assert.strictEqual(makeSnippet(mark), ' 100 | a\n-----^')
})

test('texts', () => {
  assert.strictEqual(yaml.load('>-\n  a\n  b\n\n\n  c\n'), 'a b\n\nc')
  assert.strictEqual(yaml.load('|+\n  a\n\n\n'), 'a\n\n\n')
  assert.strictEqual(yaml.load('a\n\n\n  b'), 'a\n\nb')
  assert.strictEqual(yaml.dump({ a: ['\u0001', { b: 'x\n\ny\n' }] }, { indent: 3 }), 'a:\n   - "\\x01"\n   -\n      b: |\n         x\n\n         y\n')
})
