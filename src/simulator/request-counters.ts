/**
 * Counters of the simulated provider. Each request ends as answered (an error status is an answer), aborted (the client
 * left before the whole answer was written) or dropped (a fault closed the connection).
 *
 * Bytes are those of bodies and WebSocket messages. Tokens are those of answers that were written whole. A caller that
 * uses a different model name for each request (`sim-1:r17`) can read the tokens of each request in `tokensByModel`.
 */

export interface Counts {
  readonly requests: number;
  readonly answered: number;
  readonly aborted: number;
  readonly dropped: number;
  readonly byRoute: Readonly<Record<string, number>>;
  readonly byModel: Readonly<Record<string, number>>;
  /** Number of requests to MCP servers and agents by call, such as `tools/call search` or `SendMessage`. */
  readonly byCall: Readonly<Record<string, number>>;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly openSockets: number;
  readonly tokens: CountedTokens;
  readonly tokensByModel: Readonly<Record<string, CountedTokens>>;
}

interface CountedTokens {
  readonly input: number;
  readonly output: number;
}

/** Maximum number of counted names. Model names are untrusted input; further ones count as `other`. */
const MAX_MODELS = 1_000;

/** Maximum length of a counted name; a longer one is truncated. */
const MAX_NAME = 128;

export interface Tally {
  requests: number;
  answered: number;
  aborted: number;
  dropped: number;
  bytesIn: number;
  bytesOut: number;
  openSockets: number;
  inputTokens: number;
  outputTokens: number;
  readonly byRoute: Map<string, number>;
  readonly byModel: Map<string, number>;
  readonly byCall: Map<string, number>;
  readonly tokensByModel: Map<string, CountedTokens>;
}

export function createTally(): Tally {
  return {
    requests: 0,
    answered: 0,
    aborted: 0,
    dropped: 0,
    bytesIn: 0,
    bytesOut: 0,
    openSockets: 0,
    inputTokens: 0,
    outputTokens: 0,
    byRoute: new Map(),
    byModel: new Map(),
    byCall: new Map(),
    tokensByModel: new Map(),
  };
}

export function countRoute(tally: Tally, route: string): void {
  tally.byRoute.set(route, (tally.byRoute.get(route) ?? 0) + 1);
}

export function countModel(tally: Tally, model: string): void {
  if (model === "") return;
  const name = nameIn(tally.byModel, model);
  tally.byModel.set(name, (tally.byModel.get(name) ?? 0) + 1);
}

/** Counts a call; `call` is empty if nothing was called. */
export function countCall({ byCall }: Tally, call: string): void {
  if (call === "") return;
  const name = nameIn(byCall, call);
  byCall.set(name, (byCall.get(name) ?? 0) + 1);
}

/** Counts tokens; `model` is empty if there is none. */
export function countTokens(tally: Tally, model: string, tokens: CountedTokens): void {
  tally.inputTokens += tokens.input;
  tally.outputTokens += tokens.output;
  if (model === "" || (tokens.input === 0 && tokens.output === 0)) return;
  const name = nameIn(tally.tokensByModel, model);
  const { input, output } = tally.tokensByModel.get(name) ?? { input: 0, output: 0 };
  tally.tokensByModel.set(name, { input: input + tokens.input, output: output + tokens.output });
}

function nameIn(counted: ReadonlyMap<string, unknown>, model: string): string {
  const name = model.slice(0, MAX_NAME);
  return counted.has(name) || counted.size < MAX_MODELS ? name : "other";
}

/** Resets everything except the number of open sockets, which is a state and not a counter. */
export function resetTally(tally: Tally): void {
  const { openSockets } = tally;
  tally.byRoute.clear();
  tally.byModel.clear();
  tally.byCall.clear();
  tally.tokensByModel.clear();
  const { byRoute: _, byModel: __, byCall: ___, tokensByModel: ____, ...zeroes } = createTally();
  Object.assign(tally, zeroes, { openSockets });
}

export function readTally(tally: Tally): Counts {
  const { requests, answered, aborted, dropped, bytesIn, bytesOut, openSockets } = tally;
  return {
    requests,
    answered,
    aborted,
    dropped,
    byRoute: Object.fromEntries(tally.byRoute),
    byModel: Object.fromEntries(tally.byModel),
    byCall: Object.fromEntries(tally.byCall),
    bytesIn,
    bytesOut,
    openSockets,
    tokens: { input: tally.inputTokens, output: tally.outputTokens },
    tokensByModel: Object.fromEntries(tally.tokensByModel),
  };
}
