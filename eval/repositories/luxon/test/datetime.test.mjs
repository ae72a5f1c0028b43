import test from 'node:test';
import assert from 'node:assert';
import { DateTime, Duration, Settings } from '../src/luxon.js';

Settings.defaultZone = 'utc';
Settings.defaultLocale = 'en-US';

test('reads and writes ISO 8601', () => {
  assert.strictEqual(DateTime.fromISO('2024-05-06T07:08:09').toISO(), '2024-05-06T07:08:09.000Z');
  assert.strictEqual(DateTime.fromISO('2024-W10-3').toISODate(), '2024-03-06');
  assert.strictEqual(DateTime.fromISO('2024-02-30').isValid, false);
});

test('formats', () => {
  const time = DateTime.fromISO('2024-05-06T17:08:09');
  assert.strictEqual(time.toFormat("yyyy LLL dd, h:mm a 'sharp'"), '2024 May 06, 5:08 PM sharp');
  assert.strictEqual(DateTime.fromFormat('06/05/2024', 'dd/MM/yyyy').toISODate(), '2024-05-06');
});

test('arithmetic', () => {
  assert.strictEqual(DateTime.fromISO('2023-01-31').plus({ months: 1 }).toISODate(), '2023-02-28');
  assert.strictEqual(DateTime.fromISO('2024-03-01').minus({ days: 1 }).toISODate(), '2024-02-29');
  assert.strictEqual(DateTime.fromISO('2024-03-01').diff(DateTime.fromISO('2024-01-15'), ['months', 'days']).toISO(), 'P1M15D');
});

test('leap years', () => {
  assert.deepStrictEqual([2000, 1900, 2023, 2024].map((year) => DateTime.local(year).isInLeapYear), [true, false, false, true]);
  assert.strictEqual(DateTime.local(1900, 2).daysInMonth, 28);
});

test('zones', () => {
  const time = DateTime.fromISO('2024-07-01T12:00', { zone: 'Europe/Paris' });
  assert.strictEqual(time.offset, 120);
  assert.strictEqual(time.setZone('America/New_York').toFormat('HH:mm ZZ'), '06:00 -04:00');
});

test('durations', () => {
  assert.deepStrictEqual(Duration.fromISO('PT90M').shiftTo('hours', 'minutes').toObject(), { hours: 1, minutes: 30 });
  assert.strictEqual(Duration.fromObject({ hours: 1, minutes: -30 }).normalize().toISO(), 'PT30M');
  assert.strictEqual(Duration.fromMillis(3723000).toFormat('h:mm:ss'), '1:02:03');
});
