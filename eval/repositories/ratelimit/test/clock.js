/** A clock that moves when it is told to. */
export function clock(now = 0) {
  const read = () => now;
  read.forward = (ms) => {
    now += ms;
  };
  return read;
}
