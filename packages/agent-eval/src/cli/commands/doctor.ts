import type { Command } from 'commander';
import { processEnvironment } from '../../config/env.js';
import { resolveSettings } from '../../config/resolve.js';
import type { CommandContext } from '../context.js';
import { runChecks } from '../doctor-checks.js';
import { addTableOptions, tableArguments } from '../options.js';
import { printable, table } from '../output.js';

const MARKS = { ok: 'ok', problem: 'PROBLEM', note: 'note' } as const;

export function addDoctorCommand(program: Command, { output, finish }: CommandContext): void {
  const doctor = program
    .command('doctor')
    .description('check what a judgement needs, and say how to mend what is missing')
    .option('--probe', 'make one small judgement, to see what the endpoint takes')
    .option('--json', 'print JSON');
  addTableOptions(doctor, 'doctor').action(async () => {
    const env = processEnvironment();
    const resolved = resolveSettings(env, tableArguments(doctor, 'doctor'));
    const { probe, json } = doctor.opts();
    const checks = await runChecks(env, resolved, probe === true);
    if (json === true) output.json({ checks });
    else {
      const rows = checks.map(({ name, state, found }) => [MARKS[state], name, printable(found)]);
      const lines = table(rows);
      for (const [i, check] of checks.entries()) {
        output.data(lines[i] ?? '');
        if (check.mend !== undefined) output.data(`         mend: ${printable(check.mend)}`);
      }
    }
    finish(checks.some(({ state }) => state === 'problem') ? 1 : 0);
  });
}
