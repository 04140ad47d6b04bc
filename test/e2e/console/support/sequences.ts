/** Control sequences in the bytes that a program has written to its terminal. */

/** ECMA-48, 8.3.117: Select Graphic Rendition, by its parameters. */
const SGR = /\u001b\[([\d;:]*)m/g;

/**
 * Returns the parameters that select a foreground or background color, each with its sequence; none without a color.
 */
export function coloursIn(text: string): readonly string[] {
  return [...text.matchAll(SGR)].flatMap(([sequence, parameters = ""]) =>
    parameters
      .split(/[;:]/)
      .filter((parameter) => isColour(Number(parameter)))
      .map((parameter) => `${parameter} in ${JSON.stringify(sequence)}`),
  );
}

/** 39 and 49, the terminal's defaults, are not colors. */
const isColour = (parameter: number): boolean =>
  (parameter >= 30 && parameter <= 38) || (parameter >= 40 && parameter <= 48) || (parameter >= 90 && parameter <= 107);

export const hasStyle = (text: string): boolean => [...text.matchAll(SGR)].some(([, parameters]) => parameters !== "0");

/** Returns the text without control sequences. */
export const withoutSequences = (text: string): string => text.replace(/\u001b\[[\d;:?<=>]*[ -/]*[@-~]/g, "");
