import type { Command } from 'commander';
import type { CommandContext } from '../main.js';
export function addModelCommand(_program: Command, _context: CommandContext): void {}
