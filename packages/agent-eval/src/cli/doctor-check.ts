/** One thing looked at. */
export interface DoctorCheck {
  name: string;
  /** A note is neither wrong nor in the way. */
  state: 'ok' | 'problem' | 'note';
  found: string;
  /** Command or setting that mends it. */
  mend?: string;
}
