/** Keccak-256 with the padding from before SHA-3, which determines the letter case of addresses (EIP-55). */

const ROUNDS = 24;
const RATE = 136;

/** Rotations and positions of the steps rho and pi, in the order in which one lane displaces the next. */
const ROTATIONS = Array.from({ length: 24 }, (_, at) => (((at + 1) * (at + 2)) / 2) % 64);
const PLACES = lanes();
const CONSTANTS = roundConstants();

/** Returns the digest in hexadecimal. `text` is ASCII of fewer than 136 characters. */
export function keccak256(text: string): string {
  const block = new Uint8Array(200);
  for (let at = 0; at < text.length; at++) block[at] = text.charCodeAt(at);
  block[text.length]! ^= 0x01;
  block[RATE - 1]! ^= 0x80;
  const view = new DataView(block.buffer);
  const words = Int32Array.from({ length: 50 }, (_, at) => view.getInt32(at * 4, true));
  for (let round = 0; round < ROUNDS; round++) permute(words, round);
  for (const [at, word] of words.entries()) view.setInt32(at * 4, word, true);
  return Buffer.from(block.subarray(0, 32)).toString("hex");
}

/** Runs one round. Each lane has two words, the low one first. */
function permute(words: Int32Array, round: number): void {
  const parity = new Int32Array(10);
  for (let at = 0; at < 50; at++) parity[at % 10]! ^= words[at]!;
  for (let column = 0; column < 5; column++) {
    const left = ((column + 4) % 5) * 2;
    const right = ((column + 1) % 5) * 2;
    const low = parity[left]! ^ ((parity[right]! << 1) | (parity[right + 1]! >>> 31));
    const high = parity[left + 1]! ^ ((parity[right + 1]! << 1) | (parity[right]! >>> 31));
    for (let row = 0; row < 50; row += 10) {
      words[row + column * 2]! ^= low;
      words[row + column * 2 + 1]! ^= high;
    }
  }
  let low = words[2]!;
  let high = words[3]!;
  for (let at = 0; at < 24; at++) {
    const place = PLACES[at]! * 2;
    const turn = ROTATIONS[at]!;
    const [one, other] = turn < 32 ? [low, high] : [high, low];
    const by = turn % 32;
    const turnedLow = by === 0 ? one : (one << by) | (other >>> (32 - by));
    const turnedHigh = by === 0 ? other : (other << by) | (one >>> (32 - by));
    low = words[place]!;
    high = words[place + 1]!;
    words[place] = turnedLow;
    words[place + 1] = turnedHigh;
  }
  for (let row = 0; row < 50; row += 10) {
    const before = words.slice(row, row + 10);
    for (let at = 0; at < 10; at++) words[row + at] = before[at]! ^ (~before[(at + 2) % 10]! & before[(at + 4) % 10]!);
  }
  words[0]! ^= CONSTANTS[round * 2]!;
  words[1]! ^= CONSTANTS[round * 2 + 1]!;
}

function lanes(): number[] {
  const found: number[] = [];
  let [x, y] = [1, 0];
  for (let at = 0; at < 24; at++) {
    [x, y] = [y, (2 * x + 3 * y) % 5];
    found.push(x + 5 * y);
  }
  return found;
}

/** Computes the constants with the shift register of the definition. */
function roundConstants(): Int32Array {
  const found = new Int32Array(ROUNDS * 2);
  let register = 1;
  for (let round = 0; round < ROUNDS; round++) {
    for (let power = 0; power < 7; power++) {
      const bit = (1 << power) - 1;
      if ((register & 1) === 1) found[round * 2 + (bit > 31 ? 1 : 0)]! ^= 1 << (bit % 32);
      register <<= 1;
      if (register > 0xff) register ^= 0x171;
    }
  }
  return found;
}
