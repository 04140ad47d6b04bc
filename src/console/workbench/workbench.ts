/** Initial state of the workbench, and the result of its steps. */

import type { QueryTables } from "../../admin-api/index.ts";
import type { Effect, Flash, WorkbenchState } from "../model/state.ts";

export const EMPTY_WORKBENCH: WorkbenchState = {
  edit: { text: "", at: 0 },
  isEditing: true,
  params: [],
  isEditingParams: false,
  isOfOneNode: false,
  history: [],
  historyIndex: undefined,
  draft: "",
  statements: new Map(),
  completion: undefined,
  run: { kind: "none" },
  result: { row: 0, offset: 0, column: 0, isJson: false },
};

/** Input of a step besides the workbench itself. */
export interface WorkbenchFacts {
  /** Tables that can be queried; none while they are unknown. */
  readonly tables: QueryTables["items"];
  /** Connected node and number of members; `undefined` while they are unknown. */
  readonly nodes: { readonly own: string; readonly members: number } | undefined;
  /** Time in milliseconds since 1970. */
  readonly now: number;
  /** Next free id. */
  readonly nextId: number;
  /** Size of the body, as `drawWorkbench` gets it. */
  readonly size: { readonly columns: number; readonly rows: number };
}

export interface WorkbenchStep {
  readonly workbench: WorkbenchState;
  readonly effects: readonly Effect[];
  /** False if the workbench does not handle the event, so that the console's own keys may. */
  readonly isTaken: boolean;
  readonly flash?: Omit<Flash, "at">;
  /** Number of ids used from `nextId` on. */
  readonly usedIds: number;
}

export const consumed = (workbench: WorkbenchState, effects: readonly Effect[] = [], usedIds = 0): WorkbenchStep => ({
  workbench,
  effects,
  isTaken: true,
  usedIds,
});

export const notConsumed = (workbench: WorkbenchState): WorkbenchStep => ({
  workbench,
  effects: [],
  isTaken: false,
  usedIds: 0,
});

export const withMessage = (step: WorkbenchStep, message: string, tone: Flash["tone"] = "plain"): WorkbenchStep => ({
  ...step,
  flash: { message, tone },
});
