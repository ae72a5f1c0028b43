'use strict'
const test = require('node:test')
const assert = require('node:assert')
const yaml = require('..')

test('scalars and collections', () => {
  assert.strictEqual(yaml.dump({ a: 1, b: [true, null, 'x'], c: { d: 'y: z' } }), "a: 1\nb:\n  - true\n  - null\n  - x\nc:\n  d: 'y: z'\n")
})

test('options', () => {
  const data = { b: { c: [1, 2] }, a: 255 }
  assert.strictEqual(yaml.dump(data, { sortKeys: true, flowLevel: 1 }), 'a: 255\nb: {c: [1, 2]}\n')
  assert.strictEqual(yaml.dump(data, { indent: 4, styles: { '!!int': 'hexadecimal' } }), 'b:\n    c:\n        - 0x1\n        - 0x2\na: 0xFF\n')
  assert.throws(() => yaml.dump(1, { styles: { '!!int': 'roman' } }), /accepts not/)
})

test('dates', () => {
  assert.strictEqual(yaml.dump(new Date(Date.UTC(2024, 0, 5))), '2024-01-05T00:00:00.000Z\n')
})

test('long and multiline text', () => {
  assert.strictEqual(yaml.dump('a\nb\n'), '|\n  a\n  b\n')
  assert.strictEqual(yaml.dump('\x07'), '"\\a"\n')
  const long = 'word '.repeat(40).trim()
  assert.strictEqual(yaml.load(yaml.dump(long)), long)
})

test('references', () => {
  const shared = { x: 1 }
  assert.strictEqual(yaml.dump([shared, shared]), '- &ref_0\n  x: 1\n- *ref_0\n')
})
