/** State of the console before the first answer. */

import type { Data } from "../model/data.ts";
import { NO_PREFERENCES } from "../model/preferences.ts";
import { NO_RECURRENCES } from "../model/recurrence.ts";
import { type CustomCommand, type KeyMap, type NamedContext, NO_KEYS } from "../model/settings.ts";
import type { Link, State } from "../model/state.ts";
import type { Place } from "../model/view.ts";
import { EMPTY_WORKBENCH } from "../workbench/workbench.ts";
import type { Size } from "./layout.ts";

export interface InitialOptions {
  readonly size: Size;
  /** Time in milliseconds since 1970. */
  readonly now: number;
  readonly place: Place;
  readonly endpoint: Link["endpoint"];
  /** Number of configured admin endpoints. */
  readonly endpoints: number;
  readonly isReadOnly: boolean;
  readonly isAscii: boolean;
  readonly hasMetrics: boolean;
  /** Whether an audit file was passed. */
  readonly hasTail: boolean;
  /** Reassigned keys; if missing, the standard keys apply. */
  readonly keys?: KeyMap;
  readonly commands?: readonly CustomCommand[];
  readonly contexts?: readonly NamedContext[];
  readonly context?: string | undefined;
}

const NO_DATA: Data = { get: () => undefined };

export function initialState(options: InitialOptions): State {
  const { size, now, place, endpoint, endpoints, isReadOnly, isAscii, hasMetrics, hasTail } = options;
  const { keys = NO_KEYS, commands = [], contexts = [], context } = options;
  return {
    size,
    now,
    data: NO_DATA,
    link: { endpoint, endpoints, state: { kind: "connecting" } },
    frozen: undefined,
    place,
    past: [],
    recent: [place],
    tables: new Map(),
    page: undefined,
    dialog: undefined,
    suspendedDialog: undefined,
    undo: undefined,
    prompt: undefined,
    awaitsColumnFor: undefined,
    workbench: EMPTY_WORKBENCH,
    preferences: NO_PREFERENCES,
    tail: hasTail ? [] : undefined,
    tailError: undefined,
    verification: undefined,
    recurrences: NO_RECURRENCES,
    sweep: undefined,
    rehearsed: undefined,
    flash: undefined,
    log: [],
    isReadOnly,
    isAscii,
    keys,
    commands,
    contexts,
    context,
    hasMetrics,
    nextId: 1,
  };
}
