/**
 * How long another process may be silent, counted in looks and not in time: whoever was held up itself, as a machine that was
 * moved or a debugger does it, must not end others for it. What they said meanwhile is read before the next look.
 */

export interface Looks {
  /** It said something: from the beginning again. */
  heard(): void;
  end(): void;
}

/** `silent` is called once, after `most` looks in which nothing was heard. */
export function openLooks(
  { everyMs, most }: { readonly everyMs: number; readonly most: number },
  silent: () => void,
): Looks {
  let left = most;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    silent();
  }, everyMs).unref();
  return {
    heard() {
      left = most;
    },
    end: () => clearInterval(timer),
  };
}
