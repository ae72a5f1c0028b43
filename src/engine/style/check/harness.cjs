const caissonUtil = require('node:util');
const caissonVm = require('node:vm');
const caissonWrite = process.stdout.write.bind(process.stdout);
const caissonEnd = process.exit.bind(process);
const CaissonString = String;

async function caissonLoad(paths) {
  for (const path of paths) {
    let found = {};
    try {
      found = require(path);
    } catch {
      try {
        found = await import(path);
      } catch {
        continue;
      }
    }
    for (const part of [found && found.default, found]) {
      try {
        if (typeof part === 'function' && part.name) globalThis[part.name] = part;
        if (part && typeof part === 'object') for (const key of Object.keys(part)) globalThis[key] = part[key];
      } catch {
        continue;
      }
    }
  }
}

globalThis.require = require;

let caissonReady = true;

async function caissonDo(code) {
  try {
    await caissonVm.runInThisContext(code);
  } catch {
    // What comes after it is not what was meant.
    caissonReady = false;
  }
}

function caissonSame(got, wanted) {
  let value;
  try {
    value = caissonVm.runInThisContext(`(${wanted})`);
  } catch {
    return CaissonString(got) === wanted;
  }
  // What two modules make is alike though their prototypes differ.
  const plain = (one) => (one && typeof one === 'object' ? structuredClone(one) : one);
  try {
    return caissonUtil.isDeepStrictEqual(plain(got), plain(value));
  } catch {
    return caissonUtil.isDeepStrictEqual(got, value);
  }
}

function caissonSay(number, holds, seen) {
  const line = CaissonString(seen).split(/\s+/).join(' ').slice(0, 200);
  caissonWrite(`\ncaisson-example ${number} ` + (holds ? 'holds\n' : `gives ${line}\n`));
}

function caissonIs(raised, name) {
  for (let one = raised; one; one = Object.getPrototypeOf(one)) {
    if (one.name === name || (one.constructor && one.constructor.name === name)) return true;
  }
  return false;
}

async function caissonCheck(number, call, wanted, how) {
  if (!caissonReady) return;
  let printed = '';
  process.stdout.write = (text) => {
    printed += text;
    return true;
  };
  try {
    const got = await caissonVm.runInThisContext(`(async () => (${call}))()`);
    const shown = how === 'printed' && [CaissonString(got), printed.trim()].includes(wanted);
    caissonSay(number, how !== 'error' && (shown || caissonSame(got, wanted)), caissonUtil.inspect(got));
  } catch (raised) {
    const kind = raised && raised.constructor ? raised.constructor.name : typeof raised;
    caissonSay(number, how === 'error' && caissonIs(raised, wanted), `${kind}: ${raised && raised.message}`);
  }
}

