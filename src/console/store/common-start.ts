/** Returns the longest common prefix of several names. */

export function commonStart([first = "", ...others]: readonly string[]): string {
  let length = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length -= 1;
  // Never splits a surrogate pair.
  return /[\ud800-\udbff]$/.test(first.slice(0, length)) ? first.slice(0, length - 1) : first.slice(0, length);
}
