/** Returns the first value of a header in raw pairs. `name` must be in lower case. */
export function headerValue(headers: readonly string[], name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    const candidate = headers[i] as string;
    if (candidate.length === name.length && candidate.toLowerCase() === name) {
      return headers[i + 1];
    }
  }
  return undefined;
}
