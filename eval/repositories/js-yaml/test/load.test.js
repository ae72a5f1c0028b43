'use strict'
const test = require('node:test')
const assert = require('node:assert')
const yaml = require('..')

test('scalars', () => {
  const text = 'int: -12\nhex: 0x1F\nfloat: 2.5\nyes: true\nnothing: ~\ntext: "a\\tb"\nplain: x y\ninf: .inf\n'
  assert.deepStrictEqual(yaml.load(text), { int: -12, hex: 31, float: 2.5, yes: true, nothing: null, text: 'a\tb', plain: 'x y', inf: Infinity })
})

test('collections, anchors and merges', () => {
  assert.deepStrictEqual(yaml.load('- [a, {b: 1}]\n- - c\n  - d\n'), [['a', { b: 1 }], ['c', 'd']])
  assert.deepStrictEqual(yaml.load('base: &b {x: 1}\nother:\n  <<: *b\n  y: 2\n').other, { x: 1, y: 2 })
})

test('blocks of text', () => {
  assert.strictEqual(yaml.load('|\n  a\n\n   b\n'), 'a\n\n b\n')
  assert.strictEqual(yaml.load('>-\n  a\n  b\n\n\n  c\n'), 'a b\n\nc')
  assert.strictEqual(yaml.load('a\n\n\n  b'), 'a\n\nb')
})

test('timestamps', () => {
  const read = (text) => yaml.load(text).toISOString()
  assert.strictEqual(read('2024-01-05'), '2024-01-05T00:00:00.000Z')
  assert.strictEqual(read('2024-01-05 10:20:30.5'), '2024-01-05T10:20:30.500Z')
  assert.strictEqual(read('2024-01-05T10:20:30+02:30'), '2024-01-05T07:50:30.000Z')
})

test('several documents', () => {
  assert.deepStrictEqual(yaml.loadAll('--- 1\n---\n- 2\n'), [1, [2]])
})

test('errors tell where', () => {
  assert.throws(() => yaml.load('a: 1\nb: [1, 2\nc: 3\n'), (error) => {
    assert.strictEqual(error.name, 'YAMLException')
    assert.match(error.message, / 1 \| a: 1\n 2 \| b: \[1, 2\n 3 \| c: 3\n-+\^/)
    return true
  })
})
