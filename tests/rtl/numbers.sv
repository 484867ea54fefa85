// What one element of the arrays computes.
package numbers;

  // Leading zeros of a 32-bit word; 32 for zero.
  function automatic logic [5:0] leading_zeros(input logic [31:0] x);
    logic [31:0] y;
    logic [ 5:0] n;
    y = x;
    n = 6'd0;
    if (y[31:16] == 0) begin n |= 6'd16; y <<= 16; end
    if (y[31:24] == 0) begin n |= 6'd8;  y <<= 8;  end
    if (y[31:28] == 0) begin n |= 6'd4;  y <<= 4;  end
    if (y[31:30] == 0) begin n |= 6'd2;  y <<= 2;  end
    if (!y[31]) n |= 6'd1;
    return x == 0 ? 6'd32 : n;
  endfunction

  // c + a*b, the product of two fp16 exact (22 bits fit a binary32 significand), the
  // sum rounded once to fp32, to nearest even; subnormals kept, one quiet NaN.
  function automatic logic [31:0] fma16(input logic [15:0] a, input logic [15:0] b,
                                        input logic [31:0] c);
    /* verilator no_inline_task */
    logic a_big, b_big, c_big, any_nan, product_inf, sp, sc, swap, lost, up;
    logic [23:0] mp, mc, m_hi, m_lo;         // significands
    logic [ 9:0] ep, ec, e_hi, e_lo, d, e;   // biased as in fp32, at least 1
    logic [27:0] hi, lo, sum;                // carry, significand, 3 bits below it
    logic [ 5:0] n;
    logic [31:0] packed_sum;
    sp = a[15] ^ b[15];
    sc = c[31];
    a_big = &a[14:10];
    b_big = &b[14:10];
    c_big = &c[30:23];
    any_nan = (a_big && a[9:0] != 0) || (b_big && b[9:0] != 0) || (c_big && c[22:0] != 0) ||
              (a_big && b[14:0] == 0) || (b_big && a[14:0] == 0);
    product_inf = a_big || b_big;
    if (any_nan || (product_inf && c_big && sp != sc)) return 32'h7fc00000;
    if (c_big) return c;
    if (product_inf) return {sp, 8'hff, 23'd0};

    mp = {13'd0, a[14:10] != 0, a[9:0]} * {13'd0, b[14:10] != 0, b[9:0]};
    ep = 10'd100 + {5'd0, a[14:10] == 0 ? 5'd1 : a[14:10]} +
         {5'd0, b[14:10] == 0 ? 5'd1 : b[14:10]};
    if (mp == 0) ep = 10'd1;
    else begin
      n = leading_zeros({8'd0, mp}) - 6'd8;
      mp <<= n;
      ep -= {4'd0, n};
    end
    mc = {c[30:23] != 0, c[22:0]};
    ec = c[30:23] == 0 ? 10'd1 : {2'd0, c[30:23]};

    swap = {ec, mc} > {ep, mp};
    {e_hi, m_hi} = swap ? {ec, mc} : {ep, mp};
    {e_lo, m_lo} = swap ? {ep, mp} : {ec, mc};
    hi = {1'b0, m_hi, 3'd0};
    lo = {1'b0, m_lo, 3'd0};
    d = e_hi - e_lo;
    if (d > 10'd27) lo = {27'd0, m_lo != 0};
    else begin
      lost = (lo & ~(~28'd0 << d)) != 0;
      lo = (lo >> d) | {27'd0, lost};
    end
    sum = sp == sc ? hi + lo : hi - lo;
    if (sum == 0) return {sp & sc, 31'd0};

    e = e_hi;
    if (sum[27]) begin
      sum = (sum >> 1) | {27'd0, sum[0]};
      e += 10'd1;
    end else begin
      n = leading_zeros({4'd0, sum}) - 6'd5;
      if ({4'd0, n} >= e) n = 6'(e - 10'd1); // a subnormal
      sum <<= n;
      e -= {4'd0, n};
    end
    up = sum[2] && (sum[1:0] != 0 || sum[3]);
    packed_sum = {sum[26] ? e[8:0] : 9'd0, sum[25:3]} + {31'd0, up};
    if (packed_sum[31:23] >= 9'd255) packed_sum = 32'h7f800000;
    return {swap ? sc : sp, packed_sum[30:0]};
  endfunction

  // c + a*b of two int8 in int32, modulo 2^32; or of two fp16 in fp32.
  function automatic logic [31:0] mac(input logic fp, input logic [15:0] a,
                                      input logic [15:0] b, input logic [31:0] c);
    if (fp) return fma16(a, b, c);
    return c + {{24{a[7]}}, a[7:0]} * {{24{b[7]}}, b[7:0]};
  endfunction

endpackage
