import test from 'node:test';
import assert from 'node:assert';
import { Duration } from '../src/luxon.js';

const iso = (values) => Duration.fromObject(values).toISO();

test('quarters are written as months', () => {
  assert.strictEqual(iso({ quarters: 2 }), 'P6M');
  assert.strictEqual(iso({ quarters: 1, months: 2 }), 'P5M');
  assert.strictEqual(iso({ years: 1, quarters: 1, days: 4 }), 'P1Y3M4D');
  assert.strictEqual(iso({ quarters: 4, hours: 2 }), 'P12MT2H');
  assert.strictEqual(iso({ quarters: -1 }), 'P-3M');
  assert.strictEqual(JSON.stringify({ time: Duration.fromObject({ quarters: 3 }) }), '{"time":"P9M"}');
});

test('without quarters', () => {
  assert.strictEqual(iso({ months: 4, seconds: 45 }), 'P4MT45S');
  assert.strictEqual(iso({ quarters: 0, months: 5 }), 'P5M');
  assert.strictEqual(iso({ quarters: 0, minutes: 5 }), 'PT5M');
  assert.strictEqual(iso({ years: 3, seconds: 45 }), 'P3YT45S');
  assert.strictEqual(iso({}), 'PT0S');
});
