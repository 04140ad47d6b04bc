/**
 * Opens the console on this process's terminal and runs it until it ends. Events go through `step`, effects go to the effect
 * runner, the state is rendered, and the visible view decides what the watch keeps up to date.
 *
 * React is imported here, after `NODE_ENV` selects its production build: the development build keeps a record of every frame
 * (operator console reference, A3).
 */

import type { AdminAddress } from "../admin-api/index.ts";
import { Lifetime, pause, systemClock } from "../base/index.ts";
import { drawScreen } from "./draw/draw-screen.ts";
import { eventsOfMouse } from "./draw/mouse-targets.ts";
import { renderTree } from "./draw/screen-reader.ts";
import { quoted } from "./format/command-line.ts";
import { keyOf } from "./model/data.ts";
import type { MouseReport } from "./model/key-event.ts";
import type { ConsoleEndpoint, ConsolePorts } from "./model/ports.ts";
import type { NamedContext, Settings, ThemeSpec } from "./model/settings.ts";
import type { Event, State } from "./model/state.ts";
import type { ScreenStore } from "./parts/render-console.tsx";
import type { RecordFile } from "./parts/session-recorder.ts";
import { keepTail } from "./run/audit-file-tail.ts";
import { createEffects } from "./run/effects.ts";
import { failureText } from "./run/failure-text.ts";
import { DARK as DARK_THEME, LIGHT as LIGHT_THEME } from "./settings/themes.ts";
import { withFlash } from "./store/flash.ts";
import { initialState } from "./store/initial-state.ts";
import { maskState } from "./store/mask-state.ts";
import { createStep } from "./store/reducer.ts";
import { needsOf } from "./store/selectors.ts";
import { isWorthDrawing } from "./store/worth-drawing.ts";
import { isLightBy } from "./terminal/background-color.ts";
import { osc52 } from "./terminal/clipboard.ts";
import { environmentOf } from "./terminal/environment.ts";
import { PENDING_ANSWER_LIMIT_MS } from "./terminal/round-trip.ts";
import { guardTerminal } from "./terminal/terminal-guard.ts";
import { openScreen } from "./terminal/terminal-screen.ts";
import { VIEWS } from "./views/all.ts";
import type { ReadIntervals } from "./watch/intervals.ts";
import { createWatch } from "./watch/watch.ts";
import { drawWorkbench } from "./workbench/draw-workbench.ts";
import { withRemembered } from "./workbench/saved-statements.ts";
import { stepWorkbench } from "./workbench/step-workbench.ts";

interface ConsoleOptions {
  /** Admin endpoints of the nodes of one cluster, tried in this order. */
  readonly endpoints: readonly [AdminAddress, ...AdminAddress[]];
  readonly ports: ConsolePorts;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isReadOnly: boolean;
  readonly isAscii: boolean;
  readonly metricsUrl: string | undefined;
  readonly auditFile: string | undefined;
  /** Overrides of the default polling intervals. */
  readonly intervals?: Partial<ReadIntervals>;
  /** The operator's settings; `settingsText` says what is wrong with the settings file. */
  readonly settings: Settings;
  readonly settingsText: string | undefined;
  /** Color theme; `undefined` selects one by the terminal's background. Ignored if colors are disabled. */
  readonly theme: ThemeSpec | undefined;
  readonly hasMouse: boolean;
  /** Named gateways to switch to, and the name of this one. */
  readonly contexts: readonly NamedContext[];
  readonly context: string | undefined;
  /** File that the session is recorded to; `undefined` records nothing. */
  readonly record: RecordFile | undefined;
  /** Aborted by the signal that ends the process. */
  readonly signal: AbortSignal;
}

export type ConsoleEnd =
  | { readonly kind: "left" }
  /** The operator chose another gateway. */
  | { readonly kind: "context"; readonly name: string }
  /** The operator left before any gateway had answered. */
  | { readonly kind: "never_reached"; readonly message: string }
  | { readonly kind: "signal"; readonly signal: "SIGTERM" | "SIGINT" | "SIGHUP" };

const TICK_MS = 1_000;
/** Maximum age of a key press whose result the operator is still waiting for, in milliseconds. */
const ATTENDED_MS = 5_000;
/** Interval of clock updates for a screen reader, in milliseconds: it reads each change out. */
const READER_TICK_MS = 30_000;
/** Time limit of closing, in milliseconds: a slow disk may delay the history, and a connection may hang while it closes. */
const CLOSE_LIMIT_MS = 2_000;
/** Maximum wait for the saved preferences before the first frame, in milliseconds. */
const PREFERENCES_LIMIT_MS = 250;

/** Runs the console. Restores the terminal before it settles. Rejects only with an internal error of the console. */
export async function openConsole(options: ConsoleOptions): Promise<ConsoleEnd> {
  const { ports, env, metricsUrl, auditFile } = options;
  const terminal = environmentOf({ env, isTTY: true, isAsciiAsked: options.isAscii });
  // A plain assignment would not work, because the bundler replaces `process.env.NODE_ENV` with its value.
  Reflect.set(process.env, "NODE_ENV", "production");
  // Ink draws only the last frame if `CI` is set; there is a terminal, so every frame is drawn.
  Reflect.deleteProperty(process.env, "CI");
  const { renderConsole } = await import("./parts/render-console.tsx");
  const { renderPlain } = await import("./parts/render-plain.ts");
  const { createRecorder } = await import("./parts/session-recorder.ts");
  const { MONO, themeOf } = await import("./parts/theme.ts");
  const themeBy = (isLight: boolean | undefined) =>
    themeOf(options.theme ?? (isLight === true ? LIGHT_THEME : DARK_THEME));

  await using life = new Lifetime({ limitMs: CLOSE_LIMIT_MS, onFailure: () => {} });
  const [firstEndpoint, ...otherEndpoints] = options.endpoints;
  const endpoints = [endpointOf(firstEndpoint), ...otherEndpoints.map(endpointOf)] as const;
  const step = createStep({ views: VIEWS, stepWorkbench });
  const now = (): number => systemClock.now();
  const stop = new AbortController();
  life.own("what runs", stop, () => stop.abort());

  let end: (by: ConsoleEnd | { readonly kind: "fault"; readonly error: unknown }) => void = () => {};
  const ended = new Promise<ConsoleEnd | { readonly kind: "fault"; readonly error: unknown }>((resolve) => {
    end = resolve;
  });
  let wasReached = false;
  let wasLight = isLightBy(env) ?? false;

  const screen = openScreen({
    stdin: process.stdin,
    stdout: process.stdout,
    isPlain: !terminal.hasCursor,
    onEvent: (event) => (event.kind === "repaint" ? rendered?.redraw() : dispatch(event)),
    onGone: () => end({ kind: "signal", signal: "SIGHUP" }),
    ...(options.hasMouse &&
      !terminal.isScreenReader && {
        onMouse: (report: MouseReport) => {
          for (const event of eventsOfMouse(state, VIEWS, report)) dispatch(event);
        },
      }),
    ...(options.theme === undefined &&
      terminal.hasColor &&
      !terminal.isScreenReader && {
        onBackground: (isLight: boolean) => {
          if (isLight !== wasLight) rendered?.setTheme(themeBy(isLight));
          wasLight = isLight;
        },
      }),
    stopProcess: () => process.kill(process.pid, "SIGSTOP"),
  });
  const unguard = guardTerminal(screen);
  life.own(
    "terminal",
    screen,
    async (it) => {
      await it.leaveWhenAnswered();
      unguard();
    },
    { limitMs: PENDING_ANSWER_LIMIT_MS + CLOSE_LIMIT_MS },
  );

  let state = initialState({
    size: screen.size(),
    now: now(),
    place: { view: "overview" },
    endpoint: endpoints[0],
    endpoints: endpoints.length,
    isReadOnly: options.isReadOnly,
    isAscii: terminal.isAscii,
    hasMetrics: metricsUrl !== undefined,
    hasTail: auditFile !== undefined,
    keys: options.settings.keys,
    commands: options.settings.commands,
    contexts: options.contexts,
    context: options.context,
  });
  if (options.settingsText !== undefined) state = withFlash(state, options.settingsText, "warn");
  const listeners = new Set<(isByItself: boolean) => void>();
  let needed = "";

  let touchedAt = performance.now();

  function dispatch(event: Event): void {
    const before = state;
    if (!isByItself(event)) touchedAt = performance.now();
    const next = step(state, event);
    if (next.state !== state) {
      state = next.state;
      const needs = needsOf(state, VIEWS);
      const keys = needs.map(keyOf).join(" ");
      if (keys !== needed) {
        needed = keys;
        watch.need(needs);
      }
      const isAttended = terminal.isScreenReader || performance.now() - touchedAt < ATTENDED_MS;
      if (isWorthDrawing(event, before, state, VIEWS, isAttended))
        for (const listener of listeners) listener(isByItself(event));
    }
    for (const effect of next.effects) effects.run(effect);
  }

  const watch = createWatch({
    endpoints,
    ...(metricsUrl !== undefined && { metricsUrl }),
    scrape: ports.scrape,
    documents: ports.documents,
    ...(options.intervals !== undefined && { intervals: options.intervals }),
    now,
    onData: (data) => dispatch({ kind: "data", data, now: now() }),
    onLink(link) {
      wasReached ||= link.state.kind === "online" || link.state.kind === "signed_out";
      dispatch({ kind: "link", link });
    },
    onNote: (message) => dispatch({ kind: "flash", flash: { message, tone: "warn" } }),
    signal: stop.signal,
  });
  life.own("watch", watch, (it) => it.close());

  const effects = createEffects({
    ports,
    watch,
    endpoints,
    signal: stop.signal,
    now,
    dispatch,
    copy(text) {
      const sequence = terminal.hasCursor ? osc52(text, { env }) : undefined;
      if (sequence !== undefined) screen.output.stream.write(sequence);
      return sequence !== undefined;
    },
    withRemembered,
    redraw: () => rendered?.redraw(),
    runWithoutTerminal: (work) => screen.runWithoutTerminal(work),
    stopProcess: () => screen.suspend(),
    quit: () => end(leaving(wasReached, state)),
    switchTo: (name) => end({ kind: "context", name }),
  });
  life.own("memory", effects, (it) => it.close());

  const recorder =
    options.record === undefined
      ? undefined
      : createRecorder({
          file: options.record,
          now,
          theme: themeBy(false),
          onEnd: (text) => setImmediate(() => dispatch({ kind: "flash", flash: { message: text, tone: "warn" } })),
        });
  const recordFrame = (): void => recorder?.frame(drawScreen(maskState(state), VIEWS, drawWorkbench), state.size);
  const store: ScreenStore = {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    getLines() {
      recordFrame();
      return drawScreen(state, VIEWS, drawWorkbench);
    },
    getReaderTree() {
      recordFrame();
      return renderTree(state, VIEWS, drawWorkbench);
    },
    get size() {
      return state.size;
    },
  };
  const drawing = {
    stdout: screen.output.stream,
    store,
    gate: screen.output,
    onCrash: (error: unknown) => end({ kind: "fault", error }),
    onPrinted: (text: string) => dispatch({ kind: "flash", flash: { message: text, tone: "warn" } }),
  };
  const remember = async (name: "history" | "statements" | "preferences"): Promise<void> =>
    dispatch({ kind: "remembered", name, text: await ports.memory.load(name) });
  // Waits for the preferences, since a function key may be pressed before the first frame, and columns must not change
  // after it.
  await Promise.race([remember("preferences"), pause(PREFERENCES_LIMIT_MS, stop.signal)]);
  const theme = terminal.hasColor ? themeBy(wasLight) : MONO;
  const rendered = life.own(
    "screen",
    terminal.hasCursor
      ? renderConsole({ ...drawing, theme, isScreenReader: terminal.isScreenReader })
      : renderPlain(drawing),
    (it) => it.unmount(),
  );

  const clock = setInterval(
    () => dispatch({ kind: "tick", now: now() }),
    terminal.isScreenReader ? READER_TICK_MS : TICK_MS,
  );
  life.own("clock", clock, clearInterval);
  watch.need(needsOf(state, VIEWS));
  for (const name of ["history", "statements"] as const) void remember(name);
  if (auditFile !== undefined) {
    keepTail({
      follow: (fromEnd, signal) =>
        ports.follow(auditFile, fromEnd, signal, (reason) =>
          dispatch({ kind: "tail_waiting", reason: reason === undefined ? undefined : `${auditFile}: ${reason}` }),
        ),
      signal: stop.signal,
      onLines: (lines) => dispatch({ kind: "tail", lines }),
    }).catch((error: unknown) => {
      if (!stop.signal.aborted)
        dispatch({ kind: "flash", flash: { message: failureText(error, firstEndpoint), tone: "fail" } });
    });
  }
  if (options.signal.aborted) end(onSignal(options.signal));
  options.signal.addEventListener("abort", () => end(onSignal(options.signal)), { once: true, signal: stop.signal });

  const by = await ended;
  if (by.kind === "fault") throw by.error;
  return by;
}

/** Returns whether an event happens without a key press, so that no operator waits for its frame. */
const isByItself = ({ kind }: Event): boolean =>
  kind === "data" || kind === "tick" || kind === "tail" || kind === "tail_waiting";

function leaving(wasReached: boolean, { link }: State): ConsoleEnd {
  if (wasReached || link.state.kind !== "offline") return { kind: "left" };
  return { kind: "never_reached", message: link.state.failure.message };
}

/** Reads the signal's name from `by` of the command's `Interrupted` error. */
function onSignal({ reason }: AbortSignal): ConsoleEnd {
  const by: unknown = reason instanceof Error ? Reflect.get(reason, "by") : undefined;
  return { kind: "signal", signal: by === "SIGTERM" || by === "SIGINT" ? by : "SIGHUP" };
}

function endpointOf(endpoint: AdminAddress): ConsoleEndpoint {
  return endpoint.kind === "socket"
    ? { endpoint, name: `unix:${endpoint.path}`, flags: `-socket ${quoted(endpoint.path)}` }
    : { endpoint, name: endpoint.url, flags: `-url ${quoted(endpoint.url)}` };
}
