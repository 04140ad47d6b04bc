/**
 * Notifies listeners of changing measurements at an interval, while there are listeners and something is measured; otherwise no
 * timer runs.
 */

interface MeasurementSource {
  /** Returns the milliseconds until values may change without a new record; `undefined` if they will not. */
  changesInMs(): number | undefined;
  /** Calls back once, at the next record. One listener at a time; `undefined` removes it. */
  awaitChange(listener: (() => void) | undefined): void;
}

interface ChangeNotifier {
  begin(): void;
  end(): void;
}

const NOTIFY_EVERY_MS = 1_000;

/** Creates a notifier. `onChange` is called at most once a second, after `begin`. */
export function createChangeNotifier(measured: MeasurementSource, onChange: () => void): ChangeNotifier {
  let timer: NodeJS.Timeout | undefined;
  const scheduleIn = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      onChange();
      scheduleNext();
    }, ms).unref();
  };
  /** Schedules the next call: at the next record, or when counts leave their window, after seconds or minutes. */
  const scheduleNext = (): void => {
    const ms = measured.changesInMs();
    if (ms !== undefined) scheduleIn(ms);
    if (ms !== NOTIFY_EVERY_MS) measured.awaitChange(() => scheduleIn(NOTIFY_EVERY_MS));
  };
  return {
    begin: scheduleNext,
    end() {
      measured.awaitChange(undefined);
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/**
 * Returns a function that registers a listener and returns a function to remove it. Listeners are notified at most once a second;
 * nothing runs while there are none.
 */
export function createThrottledListeners(measured: MeasurementSource): (listener: () => void) => () => void {
  const listeners = new Set<() => void>();
  const { begin, end } = createChangeNotifier(measured, () => {
    for (const listener of [...listeners]) listener();
  });
  return (listener) => {
    listeners.add(listener);
    if (listeners.size === 1) begin();
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) end();
    };
  };
}
