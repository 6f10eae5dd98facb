(haskell
  declarations: (_
    [
      (signature name: [(variable) @name (_ (_) @name)])
      (_ name: [(variable) @name (_ (_) @name)] match: (_))
      (_ names: (binding_list name: (_) @name))
      (function (_ operator: (operator) @name))
      (_ "import" signature: (_ name: (_) @name))
    ] @definition.function))
