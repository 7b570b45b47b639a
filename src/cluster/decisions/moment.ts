/** Now, as an argument: `monotonicMs` for what takes time, `epochMs` for what is written down. */
export type Moment = { readonly monotonicMs: number; readonly epochMs: number }
