'use strict'
const test = require('node:test')
const assert = require('node:assert')
const yaml = require('..')

const read = (text) => yaml.load(text).toISOString()

test('west', () => {
  assert.strictEqual(read('2024-01-05T10:00:00-05:00'), '2024-01-05T15:00:00.000Z')
  assert.strictEqual(read('2024-01-05 22:00:00 -3'), '2024-01-06T01:00:00.000Z')
  assert.strictEqual(read('2024-01-05T10:00:00.25-00:30'), '2024-01-05T10:30:00.250Z')
})

test('east, and none', () => {
  assert.strictEqual(read('2024-01-05T10:00:00+05:45'), '2024-01-05T04:15:00.000Z')
  assert.strictEqual(read('2024-01-05T10:00:00Z'), '2024-01-05T10:00:00.000Z')
  assert.strictEqual(read('2024-01-05T10:00:00'), '2024-01-05T10:00:00.000Z')
})
