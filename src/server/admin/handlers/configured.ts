/**
 * Lists of what sections of the deployment document would configure that this version refuses:
 * reconciliation. A document with such a section does not compile, so there is never a row.
 */

import { fixed, type ListSource } from "../lists.ts";

const NO_ROWS: ListSource<never> = { version: () => 0, watch: () => () => {}, take: () => fixed([]) };

/** The source of each of these lists. */
export const NOTHING_CONFIGURED = (): ListSource<never> => NO_ROWS;
