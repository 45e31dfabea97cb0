import type { Output } from './output.js';

/** What every command module is given. */
export interface CommandContext {
  output: Output;
  /** Sets the exit code of the process. */
  finish(code: number): void;
}
