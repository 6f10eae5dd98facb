; Elements, in JavaScript and TSX.

(jsx_text) @text

(jsx_opening_element
  name: [(identifier) @call (_ property: (property_identifier) @call)])
(jsx_self_closing_element
  name: [(identifier) @call (_ property: (property_identifier) @call)])
