'use strict'
const test = require('node:test')
const assert = require('node:assert')
const yaml = require('..')

test('begins with a line of dashes', () => {
  assert.strictEqual(yaml.dump({ a: 1 }, { explicitStart: true }), '---\na: 1\n')
  assert.strictEqual(yaml.dump('x', { explicitStart: true }), '---\nx\n')
  assert.strictEqual(yaml.dump([1, 2], { explicitStart: true }), '---\n- 1\n- 2\n')
})

test('the same text as without it', () => {
  for (const value of ['a\nb\n', {}, [], null, [{ x: 1, y: [true] }]]) {
    for (const options of [{}, { indent: 4 }, { flowLevel: 0 }]) {
      assert.strictEqual(yaml.dump(value, { ...options, explicitStart: true }), '---\n' + yaml.dump(value, options))
    }
  }
})

test('off', () => {
  assert.strictEqual(yaml.dump({ a: 1 }, { explicitStart: false }), 'a: 1\n')
  assert.strictEqual(yaml.dump({ a: 1 }), 'a: 1\n')
})

test('nothing to write', () => {
  assert.strictEqual(yaml.dump(undefined), '')
  assert.strictEqual(yaml.dump(undefined, { explicitStart: true }), '')
})

test('several documents are read back', () => {
  const documents = [1, { a: ['b'] }, 'text']
  const text = documents.map((one) => yaml.dump(one, { explicitStart: true })).join('')
  assert.deepStrictEqual(yaml.loadAll(text), documents)
})
