/** What a reload did, or why it did nothing: values for whoever asked. How it is done is the daemon's. */
export type RouterChange = {
  readonly router: string
  readonly change: 'added' | 'removed' | 'recreated' | 'changed'
}

export type ReloadReport =
  | {
      readonly ok: true
      readonly changes: readonly RouterChange[]
      readonly unchanged: number
      readonly groupsChanged: boolean
      /** Keys whose new value takes effect at the next start. */
      readonly restartOnly: readonly string[]
    }
  | { readonly ok: false; readonly reason: string }
