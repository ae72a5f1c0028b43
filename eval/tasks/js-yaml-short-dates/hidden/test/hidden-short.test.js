'use strict'
const test = require('node:test')
const assert = require('node:assert')
const yaml = require('..')

const dump = (date, style) => yaml.dump(date, style ? { styles: { '!!timestamp': style } } : {}).trim()

test('short', () => {
  assert.strictEqual(dump(new Date(Date.UTC(2024, 0, 5)), 'short'), '2024-01-05')
  assert.strictEqual(dump(new Date(Date.UTC(2024, 0, 5, 10, 20, 30)), 'short'), '2024-01-05T10:20:30Z')
  assert.strictEqual(dump(new Date(Date.UTC(2024, 0, 5, 0, 0, 30)), 'short'), '2024-01-05T00:00:30Z')
  assert.strictEqual(dump(new Date(Date.UTC(2024, 0, 5, 0, 0, 0, 7)), 'short'), '2024-01-05T00:00:00.007Z')
})

test('the default', () => {
  assert.strictEqual(dump(new Date(Date.UTC(2024, 0, 5))), '2024-01-05T00:00:00.000Z')
  assert.strictEqual(dump(new Date(Date.UTC(2024, 0, 5)), 'iso'), '2024-01-05T00:00:00.000Z')
})

test('far years', () => {
  for (const time of [Date.UTC(12024, 0, 5), Date.UTC(-1, 0, 5)]) {
    assert.strictEqual(dump(new Date(time), 'short').replace(/'/g, ''), new Date(time).toISOString())
  }
})

test('other styles', () => {
  assert.throws(() => dump(new Date(0), 'long'), /accepts not "long" style/)
})

test('read back, inside of a document', () => {
  const data = { a: new Date(Date.UTC(2024, 0, 5)), b: [new Date(Date.UTC(2024, 0, 5, 1))] }
  const text = yaml.dump(data, { styles: { '!!timestamp': 'short' } })
  assert.strictEqual(text, 'a: 2024-01-05\nb:\n  - 2024-01-05T01:00:00Z\n')
  assert.deepStrictEqual(yaml.load(text), data)
})
