"""What a rule may use: policies, the view of a review, shapes, declarations, text. No rule lives here."""
