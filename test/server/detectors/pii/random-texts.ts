/** Pattern-related parts, combined at random. */
const PARTS = (
  "badge 123 456 a ab abc abcd aab k K ſ \u212a é Ünï نسر 你好 😀 \n \r \u2028 \t \u00a0 - . : :: / _ @ 2024-01-02t10:20:30z 10.0.0.1 " +
  "fe80::1 256.1.1.1 12:30 x@example.com https://a.example/x key= token: secret password sk- AKIA eyJ 4111 1111 ٣٤ 𝟗 \u200b = \" ' 0x ab"
).split(" ");

/** Repeats for the same seed. */
export function randomTexts(count: number, seed: number): string[] {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + next(14) }, () => PARTS[next(PARTS.length)]! + (next(2) === 0 ? " " : "")).join(""),
  );
}
